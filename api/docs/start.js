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
