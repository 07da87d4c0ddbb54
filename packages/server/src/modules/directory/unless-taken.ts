/** A name that somebody took between the look and the write: it begins again, and sees them. */
export async function unlessTaken<T>(work: () => Promise<T>): Promise<T> {
  for (let n = 1; ; n++)
    try {
      return await work()
    } catch (e) {
      if (n === 3 || (e as { code?: unknown }).code !== '23505') throw e
    }
}
