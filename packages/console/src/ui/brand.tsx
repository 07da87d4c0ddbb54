/**
 * Logo of Holdfast, the same as on the sign-in page.
 *
 * @example <Brand />
 */
export const Brand = () => (
  <svg
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.75"
    strokeLinejoin="round"
    aria-hidden="true"
  >
    <path d="M12 2.500 4 5.500v6c0 5 3.400 8.600 8 10 4.600-1.400 8-5 8-10v-6z" />
    <path d="M9 8v8M15 8v8M9 12h6" strokeLinecap="round" />
  </svg>
)
