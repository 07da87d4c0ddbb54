/** True if a statement with `returning` affected a row. Of several concurrent callers, only one gets true. */
export const affectedRow = async (statement: { executeTakeFirst(): Promise<unknown> }): Promise<boolean> =>
  (await statement.executeTakeFirst()) !== undefined
