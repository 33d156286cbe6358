"use strict";

// Everything comes from this server: no validator badge, no configuration from
// the address bar.
SwaggerUIBundle({
  url: new URL("../openapi.yaml", location.href).href,
  dom_id: "#contract",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  validatorUrl: null,
  queryConfigEnabled: false,
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
});

// What Swagger UI leaves to those who do not see the page or use no mouse: all in landmarks, headings without a gap between their levels, and no link within a button.
function tidy() {
  for (const level of [2, 3])
    document.querySelectorAll(`#contract h${level + 1}`).forEach((head) => head.setAttribute("aria-level", level));
  const about = document.querySelector("#contract .information-container");
  about?.setAttribute("role", "region");
  about?.setAttribute("aria-label", "About the contract");
  document.querySelectorAll("#contract button a[href]").forEach((link) => link.removeAttribute("href"));
}
new MutationObserver(tidy).observe(document.getElementById("contract"), { childList: true, subtree: true });
