// What the programs here are about: a shop and the services it uses.

export interface Order {
  id: string
  email: string
  total: number
  items: readonly string[]
}

export interface Receipt {
  id: string
  amount: number
}

/** One line of a conversation. */
export interface Line {
  from: 'user' | 'bot'
  text: string
}

export declare const stripe: {
  charge(total: number, options: { idempotencyKey: string; signal: AbortSignal }): Promise<Receipt>
  refund(id: string): Promise<void>
}

export declare const mail: { send(to: string, text: string): Promise<void> }

export declare const llm: {
  chat(lines: readonly Line[], options: { signal: AbortSignal }): Promise<string>
}

export declare const warehouse: {
  pick(sku: string): Promise<number>
  reserve(items: readonly string[]): Promise<string>
  release(id: string): Promise<void>
}
