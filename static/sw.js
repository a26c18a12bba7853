// The service worker stores only the offline page and the files that it loads. Every other
// answer comes from the network. The server puts `const release = {cache, page, files}` in
// front of this text. The name of the cache contains a hash of these and of this script, so a
// new release replaces the old copy.

self.addEventListener("install", (event) => {
  const fill = async () => {
    const cache = await caches.open(release.cache);
    await cache.addAll([new Request(release.page, { cache: "reload" }), ...release.files]);
    await self.skipWaiting();
  };
  event.waitUntil(fill());
});

self.addEventListener("activate", (event) => {
  const takeOver = async () => {
    const names = await caches.keys();
    await Promise.all(names.filter((name) => name !== release.cache).map((name) => caches.delete(name)));
    // An earlier release enabled preloading, which requested other pages twice.
    await self.registration.navigationPreload?.disable();
    await self.clients.claim();
  };
  event.waitUntil(takeOver());
});

const kept = async (name) => (await caches.open(release.cache)).match(name);

async function navigate(request) {
  try {
    return await fetch(request);
  } catch {
    return (await kept(release.page)) || Response.error();
  }
}

self.addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== "GET" || origin !== self.location.origin || /^\/(admin|api|mcp)(\/|$)/.test(pathname)) return;
  if (mode === "navigate") {
    event.respondWith(navigate(event.request));
  } else if (release.files.includes(pathname)) {
    event.respondWith(kept(pathname).then((hit) => hit || fetch(event.request)));
  }
});
