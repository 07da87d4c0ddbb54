declare module 'virtual:policy-schema' {
  export const policySchema: object
}
