import { isRightToken } from '../api/http.ts'
import { setToken, tokenIn } from '../api/token.ts'
import { Button } from './button.tsx'
import { ask } from './dialog.tsx'

/** For readers who came without the token: by a bookmark, or by a link that they opened in another tab. */
export function EnterToken() {
  return <Button onClick={askForToken}>Enter the token</Button>
}

function askForToken(): void {
  ask({
    title: 'Enter the token',
    body: <p>It follows #token= in the address that the dashboard printed. This tab keeps it.</p>,
    verb: 'Use it',
    fields: [{ name: 'token', label: 'Token', secret: true }],
    async act({ token: given = '' }) {
      const found = tokenIn(given)
      if (!(await isRightToken(found))) throw new Error('That is not the token of this dashboard.')
      setToken(found)
      return 'You can change things now'
    },
  })
}
