import { assetPath, createAsset } from '../../../http/pages/page-assets.ts'

/** Values of packages/console/src/styles/tokens.css that these pages use; a test compares them. */
const tokens = `:root{color-scheme:light dark;
--font-sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",Arial,sans-serif;
--font-mono:ui-monospace,"SF Mono",SFMono-Regular,"Cascadia Mono","JetBrains Mono",Menlo,Consolas,"Liberation Mono",monospace;
--text-xs:0.75rem;--text-sm:0.8125rem;--text-md:0.875rem;--text-lg:1rem;--text-xl:1.25rem;--lh-tight:1.25;--lh:1.5;
--w-medium:500;--w-semibold:600;
--s-2:0.25rem;--s-3:0.375rem;--s-4:0.5rem;--s-5:0.75rem;--s-6:1rem;--s-7:1.25rem;--s-8:1.5rem;--s-9:2rem;
--r-md:0.375rem;--r-lg:0.5rem;--r-xl:0.75rem;
--n-0:#ffffff;--n-50:#f3f5f8;--n-975:#0a0e16;
--page:light-dark(var(--n-50),var(--n-975));--surface:light-dark(var(--n-0),#10151f);--surface-3:light-dark(var(--n-50),#1a2130);
--raised:light-dark(var(--n-0),#171e2c);--line:light-dark(#e3e7ee,#212938);--line-strong:light-dark(#cdd3df,#323c50);
--line-control:light-dark(#858fa4,#69758f);
--ink:light-dark(#172033,#e8ecf5);--soft:light-dark(#515c74,#a3aec4);
--accent:light-dark(#1f4fd8,#8fb0ff);--accent-strong:light-dark(#183fae,#b3c9ff);--on-accent:light-dark(#ffffff,#0b1220);
--bad-ink:light-dark(#a3141d,#ffa3a5);--bad-mark:light-dark(#d22f3a,#f0646b);--bad-bg:light-dark(#fdeeee,#30171c);
--bad-line:light-dark(#f2bfc1,#66313a);
--warn-ink:light-dark(#7e4b00,#f0bd66);--warn-bg:light-dark(#fdf4e1,#2a200f);--warn-line:light-dark(#f0d49b,#56421b);
--e-1:0 1px 2px light-dark(rgb(23 32 51 / 0.06),rgb(0 0 0 / 0.4));
--focus-width:2px;--focus-gap:1px;--focus:var(--accent);--t-fast:90ms}
[data-theme="light"]{color-scheme:light}
[data-theme="dark"]{color-scheme:dark}`

const rules = `*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:var(--s-6);background:var(--page);color:var(--ink);font:var(--text-md)/var(--lh) var(--font-sans);-webkit-font-smoothing:antialiased}
main>:last-child,main>form:last-child button,main>.choice:last-child{margin-bottom:0}
main{width:100%;max-width:24rem;padding:var(--s-9) var(--s-8);background:var(--raised);border:1px solid var(--line);border-radius:var(--r-xl);overflow-wrap:anywhere}
.brand{display:flex;align-items:center;gap:var(--s-4);margin:0 0 var(--s-8);font-weight:var(--w-semibold);letter-spacing:.01em}
.brand svg{width:1.375rem;height:1.375rem;flex:none;color:var(--accent)}
h1{margin:0 0 var(--s-2);font-size:var(--text-xl);font-weight:var(--w-semibold);line-height:var(--lh-tight);letter-spacing:-.012em}
p{margin:0 0 var(--s-7);color:var(--soft)}
p strong{color:var(--ink);font-weight:var(--w-medium)}
label{display:block;margin:0 0 var(--s-2);font-weight:var(--w-medium)}
input:not([type=hidden]){width:100%;min-height:2.5rem;margin:0 0 var(--s-6);padding:0 var(--s-5);font:inherit;color:var(--ink);background:var(--surface);border:1px solid var(--line-control);border-radius:var(--r-md)}
input:hover{border-color:var(--soft)}
input[aria-invalid=true]{border-color:var(--bad-mark)}
details{margin:0 0 var(--s-6)}
summary{padding:var(--s-2) 0;color:var(--soft);cursor:pointer}
small{font-size:var(--text-xs);color:var(--soft)}
button,.choice{display:flex;align-items:center;justify-content:center;width:100%;min-height:2.5rem;padding:var(--s-3) var(--s-5);font:inherit;font-weight:var(--w-medium);line-height:1.2;text-align:center;border:1px solid transparent;border-radius:var(--r-md);box-shadow:var(--e-1);cursor:pointer;transition:background var(--t-fast),border-color var(--t-fast)}
button{color:var(--on-accent);background:var(--accent)}
button:hover{background:var(--accent-strong)}
.choice,.plain{color:var(--ink);background:var(--surface);border-color:var(--line-strong);text-decoration:none}
.choice{margin:0 0 var(--s-4)}
.choice:hover,.plain:hover{background:var(--surface-3);border-color:var(--line-control)}
a{color:var(--accent);text-underline-offset:.2em}
.or{margin:var(--s-6) 0 var(--s-5);text-align:center}
h1+.alert{margin-top:var(--s-6)}
.more{margin:var(--s-7) 0 0}
details[open] summary{margin-bottom:var(--s-4)}
.more a,.links a{display:inline-block;padding:var(--s-2) 0}
.links{display:flex;flex-wrap:wrap;gap:0 var(--s-7);margin:0 0 var(--s-6)}
.hint{display:block;margin:calc(-1 * var(--s-5)) 0 var(--s-6)}
.qr{max-width:15rem;margin:0 auto var(--s-7);border:1px solid var(--line);border-radius:var(--r-lg);overflow:hidden}
.qr svg{display:block;width:100%;height:auto}
code{font:1em/var(--lh) var(--font-mono);font-variant-ligatures:none;color:var(--ink)}
.key{font-size:var(--text-lg);letter-spacing:.03em}
.codes{margin:0 0 var(--s-8);padding-left:var(--s-9);color:var(--soft)}
.codes li{padding:.125rem 0}
.codes code{font-size:var(--text-sm)}
:focus-visible{outline:var(--focus-width) solid var(--focus);outline-offset:var(--focus-gap)}
.alert,.note{margin:0 0 var(--s-7);padding:var(--s-5) var(--s-6);border:1px solid var(--bad-line);border-radius:var(--r-lg);color:var(--bad-ink);background:var(--bad-bg)}
.note{color:var(--warn-ink);background:var(--warn-bg);border-color:var(--warn-line)}
dl{display:grid;grid-template-columns:auto 1fr;gap:var(--s-3) var(--s-6);margin:0 0 var(--s-8)}
dt{color:var(--soft)}
dd{margin:0}
@media (pointer:coarse){button,.choice,input:not([type=hidden]){min-height:2.75rem}input:not([type=hidden]){font-size:1rem}}
@media (max-width:23rem){main{padding:var(--s-8) var(--s-6)}.codes{padding-left:var(--s-8)}.codes code{font-size:var(--text-xs)}}
@media (prefers-reduced-motion:reduce){:root{--t-fast:0ms}}
@media (prefers-contrast:more){:root{--line:light-dark(#8b95a9,#6f7b93);--line-strong:light-dark(#5d687f,#98a4bb);--soft:light-dark(#333d52,#cdd5e6)}}
`

const shieldPaths =
  '<path d="M12 2.5 4 5.5v6c0 5 3.4 8.6 8 10 4.6-1.4 8-5 8-10v-6z"/><path d="M9 8v8M15 8v8M9 12h6" stroke-linecap="round"/>'
/** Logo of the product, as a part of a page. */
export const shield = `<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linejoin="round" aria-hidden="true">${shieldPaths}</svg>`

const style = createAsset('pages.css', `${tokens}\n${rules}`)
const icon = createAsset(
  'icon.svg',
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#3f6ef0" stroke-width="1.75" stroke-linejoin="round">${shieldPaths}</svg>\n`,
)
/** Files that these pages load. */
export const assets = [style, icon]
export const styleLink = `<link rel="stylesheet" href="${assetPath(style[0])}">`
export const iconLink = `<link rel="icon" type="image/svg+xml" href="${assetPath(icon[0])}">`
