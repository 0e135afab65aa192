/**
 * Labels for the tools of two sets, decided from the tools' names, descriptions and parameters alone.
 *
 * Rules that hold for all of them:
 * - `reads`: a tool that changes an existing object and does not say what it returns is taken to return that object;
 *   one that only makes something from its own arguments is taken to echo them, which reads nothing.
 * - `sends`: mail that the tool triggers by itself (invitations, notices) counts as much as mail that it is asked for.
 * - `sensitive`: addressees, amounts of money and what multiplies them, ids of what is changed, deleted or handed out,
 *   permissions, passwords, and the account holder's own details. Not: times, places, titles, free text, the names of
 *   new things, and whatever only selects what a reading tool returns.
 * - `dangerLevel`: `high` and up is for what cannot be undone (money, deletion, mail or shared files, lock-out).
 */
export interface FlowTool {
  readonly accessMode: 'readonly' | 'write' | 'execute' | 'mixed';
  readonly dangerLevel: 'safe' | 'low' | 'medium' | 'high' | 'critical';
  /** The kinds of data that come back. */
  readonly reads: readonly ('private' | 'untrusted')[];
  /** The worst case of where a call carries its arguments, or what they point at. */
  readonly sends: 'nowhere' | 'outside';
  /** The arguments that decide who or what is affected. */
  readonly sensitive: readonly string[];
  /** At least one of these must be present and non-empty for a call to send outside. */
  readonly sendsOnlyWith?: readonly string[];
  readonly note?: string;
}

export const FLOW_TOOLS: Readonly<Record<string, Readonly<Record<string, FlowTool>>>> = {
  banking: {
    get_iban: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private'],
      sends: 'nowhere',
      sensitive: [],
    },
    // `date` could be sensitive; it decides when, not who or how much, like the times of calendar events.
    send_money: {
      accessMode: 'write',
      dangerLevel: 'critical',
      reads: [],
      sends: 'outside',
      sensitive: ['recipient', 'amount'],
    },
    // Could be critical like an immediate payment; until the date comes it can still be changed.
    schedule_transaction: {
      accessMode: 'write',
      dangerLevel: 'high',
      reads: [],
      sends: 'outside',
      sensitive: ['recipient', 'amount', 'recurring'],
      note: 'The subject reaches the recipient only once the payment is made.',
    },
    // Could have `sendsOnlyWith`; but each field that can be changed shows in the payment or in how often it is made.
    update_scheduled_transaction: {
      accessMode: 'write',
      dangerLevel: 'high',
      reads: ['private'],
      sends: 'outside',
      sensitive: ['id', 'recipient', 'amount', 'recurring'],
      note:
        'Fields that are left out keep their values, so a new recipient alone also receives the old subject. ' +
        'What comes back is not described; taken to be the changed record.',
    },
    get_balance: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private'],
      sends: 'nowhere',
      sensitive: [],
    },
    get_most_recent_transactions: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
      note: 'Whoever pays in chooses the subject.',
    },
    // Could be untrusted as well; but planned payments are outgoing, and their subjects are the account holder's own.
    get_scheduled_transactions: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private'],
      sends: 'nowhere',
      sensitive: [],
    },
    // `file_path` could be sensitive, and the tool safe; a wrong path only reads, but no folder is said to bound it.
    read_file: {
      accessMode: 'readonly',
      dangerLevel: 'low',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
      note: 'Bills, letters and notices are commonly files that others wrote.',
    },
    get_user_info: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private'],
      sends: 'nowhere',
      sensitive: [],
    },
    // Could be high; whoever chooses the password holds the account.
    update_password: {
      accessMode: 'write',
      dangerLevel: 'critical',
      reads: [],
      sends: 'nowhere',
      sensitive: ['password'],
    },
    // The two names could be left out of `sensitive`; they say whose account it is, as the address does.
    update_user_info: {
      accessMode: 'write',
      dangerLevel: 'medium',
      reads: ['private'],
      sends: 'nowhere',
      sensitive: ['first_name', 'last_name', 'street', 'city'],
      note: 'What comes back is not described; taken to be the profile, with the fields that were not changed.',
    },
  },
  workspace: {
    // `attachments` could be taken for content; it names what is handed out, as the file to be shared does.
    send_email: {
      accessMode: 'write',
      dangerLevel: 'high',
      reads: [],
      sends: 'outside',
      sensitive: ['recipients', 'cc', 'bcc', 'attachments'],
      note: 'Attached files leave the account although only their ids are in the arguments.',
    },
    // Could read nothing, and be medium; neither the result of a success nor a way back is described.
    delete_email: {
      accessMode: 'write',
      dangerLevel: 'high',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: ['email_id'],
      note: 'What comes back on success is not described; taken to be the mail.',
    },
    // Could be mixed, and medium; the only change is to the marks that show what is still to be read.
    get_unread_emails: {
      accessMode: 'write',
      dangerLevel: 'low',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
    },
    // Could be trusted as the user's own; but replies and forwarded mail quote others, down to the subject.
    get_sent_emails: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
    },
    get_received_emails: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
    },
    // As for sent mail: a draft of a reply quotes others.
    get_draft_emails: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
    },
    search_emails: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
    },
    // Could be untrusted where contacts are collected from incoming mail; a list that the user keeps is assumed.
    search_contacts_by_name: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private'],
      sends: 'nowhere',
      sensitive: [],
    },
    // As for the search by name.
    search_contacts_by_email: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private'],
      sends: 'nowhere',
      sensitive: [],
    },
    get_current_day: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: [],
      sends: 'nowhere',
      sensitive: [],
    },
    search_calendar_events: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
      note: 'Invitations from others appear among the events.',
    },
    get_day_calendar_events: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
      note: 'Invitations from others appear among the events.',
    },
    // Could be high, since an invitation is mail; without participants it is harmless, and it can be cancelled.
    create_calendar_event: {
      accessMode: 'write',
      dangerLevel: 'medium',
      reads: [],
      sends: 'outside',
      sensitive: ['participants'],
      sendsOnlyWith: ['participants'],
      note: 'Without participants only the owner of the calendar is on the event.',
    },
    // Could send nowhere, as the caller writes no text; but others get a notice, and whether depends on the event.
    cancel_calendar_event: {
      accessMode: 'write',
      dangerLevel: 'medium',
      reads: ['private', 'untrusted'],
      sends: 'outside',
      sensitive: ['event_id'],
      note:
        'Nobody is mailed if the event has no other participants, which the arguments do not show. ' +
        'What comes back is not described; taken to be the event.',
    },
    // The new times could be sensitive; they decide when, as the date of a payment does.
    reschedule_calendar_event: {
      accessMode: 'write',
      dangerLevel: 'medium',
      reads: ['private', 'untrusted'],
      sends: 'outside',
      sensitive: ['event_id'],
      note:
        'Nobody is mailed if the event has no other participants, which the arguments do not show. ' +
        'What comes back is not described; taken to be the event.',
    },
    // Could be high like sharing a file; what gets out is limited to one appointment.
    add_calendar_event_participants: {
      accessMode: 'write',
      dangerLevel: 'medium',
      reads: ['private', 'untrusted'],
      sends: 'outside',
      sensitive: ['event_id', 'participants'],
      note:
        'The event gets out although only its id is in the arguments. ' +
        'What comes back is not described; taken to be the event.',
    },
    // Could send outside where the file is already shared; sharing it was the act that needed consent.
    append_to_file: {
      accessMode: 'write',
      dangerLevel: 'low',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: ['file_id'],
      note:
        'Those with whom the file is shared already can see what is added. ' +
        'What comes back is not described; taken to be the file.',
    },
    search_files_by_filename: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
      note: 'Others may have shared files into the drive or written in them.',
    },
    // `filename` could be sensitive if an existing file were replaced; the file is said to be new.
    create_file: {
      accessMode: 'write',
      dangerLevel: 'low',
      reads: [],
      sends: 'nowhere',
      sensitive: [],
    },
    // Could be medium if there were a bin; none is described. Its result is the file itself.
    delete_file: {
      accessMode: 'write',
      dangerLevel: 'high',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: ['file_id'],
      note: 'The argument is described both as an id and as a name.',
    },
    // `file_id` could be sensitive as in the tools that change files; here it only selects what is read.
    get_file_by_id: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
    },
    list_files: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
    },
    // Could be medium as sharing can be withdrawn; what was read by then cannot.
    share_file: {
      accessMode: 'write',
      dangerLevel: 'high',
      reads: ['private', 'untrusted'],
      sends: 'outside',
      sensitive: ['file_id', 'email', 'permission'],
      note:
        'The file gets out although only its id is in the arguments. ' +
        'What comes back is not described; taken to be the file.',
    },
    search_files: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
    },
  },
};
