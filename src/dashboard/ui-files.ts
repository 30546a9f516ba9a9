/** A file of the pages. */
export type UiFile = { readonly text: string } | { readonly base64: string }

/**
 * The pages of the dashboard, by their path. `scripts/embed-dashboard.mjs` puts them here when the package is
 * built, so that no file is read at run time and bundlers need not know of them.
 */
export const UI_FILES: Readonly<Record<string, UiFile>> | undefined = undefined
