import { html } from '../../html.js'

export function Migrations() {
  return html``
}
