import { html } from '../html.js'
import { Empty } from '../parts.js'

export default function View() {
  return html`<${Empty} title="analyses" />`
}
