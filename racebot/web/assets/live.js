// Keeps the live page and the overlays up to date; without this they show the state at load.
"use strict";
(() => {
  const shown = document.getElementById("live");
  const again = 15000;
  let last = null;

  // Replace only the parts that changed, so that a reader's focus and selection survive elsewhere.
  const show = html => {
    if (html === last) return;
    last = html;
    const fresh = new DOMParser().parseFromString(html, "text/html").body;
    const old = new Map([...shown.children].map(part => [part.id, part]));
    const parts = [...fresh.children].map(part => {
      const known = old.get(part.id);
      return known && known.outerHTML === part.outerHTML ? known : document.adoptNode(part);
    });
    if (parts.length !== shown.children.length || parts.some((part, i) => part !== shown.children[i])) {
      shown.replaceChildren(...parts);
    }
  };

  const follow = () => {
    const source = new EventSource(shown.dataset.events);
    source.onmessage = message => show(message.data);
    source.onerror = () => {
      // The browser connects again by itself, unless the server refused.
      if (source.readyState !== EventSource.CLOSED) return;
      source.close();
      setTimeout(follow, again);
    };
  };
  follow();
})();
