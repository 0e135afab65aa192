import { element, listening } from '../dom/element.js';

/** Asks for the token of the server. */
export function unlockView(wasWrong: boolean, onToken: (token: string) => void): HTMLElement {
  const field = element('input', { id: 'token', type: 'password', autocomplete: 'off', required: true, 'data-key': 'token' });
  return listening(
    element(
      'form',
      { class: 'unlock' },
      element('h2', {}, 'This catalogue is locked'),
      element('p', { class: 'muted' }, 'It was started with a token. The token is kept until this tab is closed.'),
      wasWrong && element('p', { role: 'alert', class: 'problem' }, 'That was not the token.'),
      element('label', { for: 'token' }, 'Token'),
      field,
      element('button', { type: 'submit', class: 'primary' }, 'Open'),
    ),
    {
      submit: (event) => {
        event.preventDefault();
        onToken(field.value.trim());
      },
    },
  );
}
