/** Address of the documentation: pages of the server, outside the console's router. */
export const documentation = '/admin/docs/'
