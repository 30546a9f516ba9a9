import './styles/tokens.css'
import './styles/base.css'
import './styles/shell.css'
import './styles/parts.css'
import './styles/table.css'
import './styles/screens.css'
import './styles/fleet.css'
import './styles/instance.css'
import './styles/waterfall.css'
import './styles/value.css'

import { render } from 'preact'

import { startLive } from './api/live.ts'
import { startToken } from './api/token.ts'
import { App } from './app.tsx'
import { startShortcuts } from './keyboard/shortcuts.ts'
import { startRouting } from './routing/router.ts'
import { startClock } from './ui/clock.tsx'
import { startTheme } from './ui/theme.ts'

startToken()
startTheme()
startRouting()
startShortcuts()
startClock()
startLive()

const root = document.querySelector('#app')!
root.replaceChildren()
render(<App />, root)
