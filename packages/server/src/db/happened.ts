/** Whether a statement that returns what it did has done it: true for the one caller that did. */
export const happened = async (statement: { executeTakeFirst(): Promise<unknown> }): Promise<boolean> =>
  (await statement.executeTakeFirst()) !== undefined
