import {
  chooseDriver,
  type Driver,
  type DriverName,
  openDriver,
  openImage,
} from '../connect/driver.ts'
import type { SqliteSettings } from '../connect/options.ts'
import { migrate } from '../schema/migrate.ts'

// Databases in memory after their migrations, which take longer than most tests.
const images = new Map<DriverName, Buffer>()

/**
 * Opens a database in memory that has had its migrations: a copy of one that this process has made before.
 * It can grow to 1 GiB, so it is for tests only.
 */
export function openMigrated(settings: SqliteSettings): Driver {
  const name = chooseDriver(settings.driver)
  const image = images.get(name)
  if (image !== undefined) {
    const copy = openImage(image)
    // Two databases are never taken for one.
    copy.exec('update store set server = lower(hex(randomblob(16)))')
    return copy
  }
  const first = openDriver(':memory:', name)
  migrate(first, settings)
  const made = first.image?.()
  if (made !== undefined) images.set(name, made)
  return first
}
