/** Retries if another transaction took a name between check and write; the retry sees that name. */
export async function unlessTaken<T>(work: () => Promise<T>): Promise<T> {
  for (let n = 1; ; n++)
    try {
      return await work()
    } catch (e) {
      if (n === 3 || (e as { code?: unknown }).code !== '23505') throw e
    }
}
