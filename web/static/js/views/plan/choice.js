import { html } from '../../html.js'

/**
 * Buttons of which one is pressed: options are [value, text].
 *
 * @param {{ label: string, value: string, options: [value: string, text: string][], onChange: (value: string)
 *   => void }} props
 */
export function Choice({ label, value, options, onChange }) {
  return html`<div class="plan-choice" role="group" aria-label=${label}>
    ${options.map(
      ([option, text]) => html`
        <button type="button" key=${option} aria-pressed=${option === value} onClick=${() => onChange(option)}>
          ${text}
        </button>
      `,
    )}
  </div>`
}
