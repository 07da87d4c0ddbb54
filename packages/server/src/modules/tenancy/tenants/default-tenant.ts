/** Made by the first start and permanent. A request that names no tenant means this one. */
export const defaultTenant = 'default'
