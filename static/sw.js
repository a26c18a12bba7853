// The service worker keeps one thing: the page that says there is no connection, with
// what that page loads. Every other answer comes from the network or not at all.
// The server puts `const release = {cache, page, files}` before this text; the name of
// the cache carries a hash of all of it, so a new release replaces the old copy.

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
    // An earlier release turned it on: what this worker leaves alone was then asked for twice.
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
