import { defineConfig } from 'vite'

// Everything is relative to <base href>, which the server sets: the dashboard may be mounted anywhere.
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../build/dashboard/ui',
    emptyOutDir: true,
    // The content-security policy allows no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: false,
    // The first ones with light-dark() in CSS.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    reportCompressedSize: false,
  },
})
