/** Passwords of addresses in a text: after the user, also with spaces, or as a parameter. */
const USER = /(\b[a-z][a-z\d+.-]*:\/\/[^\s:/@]*:)[^/\r\n]*@/gi
const PARAMETER = /([?&\s](?:password|sslpassword)=)(?!\*\*\*(?:[\s:&]|$))[^\s&]*/gi

/** Text without the passwords of addresses in it. */
export function withoutPasswords(text: string): string {
  return text.replaceAll(USER, '$1***@').replaceAll(PARAMETER, '$1***')
}

/** The address of a server without its passwords, whatever characters they have. */
export function addressWithoutPassword(url: string): string {
  if (!URL.canParse(url)) {
    // One without a host, for example. All that can be a user or a password is left out.
    const scheme = url.slice(0, url.indexOf(':'))
    const at = url.lastIndexOf('@')
    return withoutPasswords(`${scheme}://…${at === -1 ? '' : url.slice(at)}`)
  }
  const parsed = new URL(url)
  if (parsed.password !== '') parsed.password = '***'
  for (const name of ['password', 'sslpassword']) {
    if (parsed.searchParams.has(name)) parsed.searchParams.set(name, '***')
  }
  return parsed.href
}
