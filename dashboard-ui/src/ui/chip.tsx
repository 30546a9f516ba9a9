/** A short text in a frame: a label, a tag. In a list it may be cut, so it is its title, too. */
export function Chip({ text, look = '' }: { text: string; look?: string }) {
  return (
    <span class={`chip ${look}`} title={text}>
      {text}
    </span>
  )
}
