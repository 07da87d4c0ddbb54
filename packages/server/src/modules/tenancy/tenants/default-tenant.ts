/** Made by the first start: whoever names no tenant means it, and it stays. */
export const defaultTenant = 'default'
