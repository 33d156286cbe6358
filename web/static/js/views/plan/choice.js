import { html } from '../../html.js'

/**
 * Buttons of which one is pressed: options are the texts of values.
 *
 * @param {string} label
 * @param {string} value
 * @param {Record<string, string>} options
 * @param {(value: string) => void} onChange
 */
export const choice = (label, value, options, onChange) =>
  html`<div class="plan-choice" role="group" aria-label=${label}>
    ${Object.entries(options).map(
      ([option, text]) => html`
        <button type="button" key=${option} aria-pressed=${option === value} onClick=${() => onChange(option)}>
          ${text}
        </button>
      `,
    )}
  </div>`
