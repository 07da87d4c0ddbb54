/** True if a statement with `returning` affected a row. Of several concurrent callers, only one gets true. */
export const happened = async (statement: { executeTakeFirst(): Promise<unknown> }): Promise<boolean> =>
  (await statement.executeTakeFirst()) !== undefined
