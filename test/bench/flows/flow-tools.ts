/**
 * Labels for the tools of two sets, based only on the tools' names, descriptions, and parameters.
 *
 * These rules apply to all tools:
 * - `reads`: a tool that changes an existing object and doesn't say what it returns is assumed to return
 * that object. A tool that only creates something from its arguments is assumed to echo them, which
 * reads nothing.
 * - `sends`: mail that the tool sends by itself, such as invitations, counts as much as mail that the
 * user asked for.
 * - `sensitive`: recipients, amounts of money and their multipliers, ids of things that are changed,
 * deleted, or shared, permissions, passwords, and the account holder's details. It excludes times,
 * places, titles, free text, names of new things, and arguments that only select what a reading tool
 * returns.
 * - `dangerLevel`: `high` or above if the change can't be undone (money, deletion, mail, shared files,
 * lock-out).
 */
export interface FlowTool {
  readonly accessMode: 'readonly' | 'write' | 'execute' | 'mixed';
  readonly dangerLevel: 'safe' | 'low' | 'medium' | 'high' | 'critical';
  /** The labels of the data that the tool returns. */
  readonly reads: readonly ('private' | 'untrusted')[];
  /** The worst case of where a call sends its arguments or the things they name. */
  readonly sends: 'nowhere' | 'outside';
  /** The arguments that decide who or what is affected. */
  readonly sensitive: readonly string[];
  /** A call sends something outside only if one of these arguments is present and not empty. */
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
    // `date` could be sensitive. But like the times of calendar events, it decides when, not who or how
    // much.
    send_money: {
      accessMode: 'write',
      dangerLevel: 'critical',
      reads: [],
      sends: 'outside',
      sensitive: ['recipient', 'amount'],
    },
    // Could be critical like an immediate payment, but the payment can be changed until its date.
    schedule_transaction: {
      accessMode: 'write',
      dangerLevel: 'high',
      reads: [],
      sends: 'outside',
      sensitive: ['recipient', 'amount', 'recurring'],
      note: 'The subject reaches the recipient only once the payment is made.',
    },
    // Could have `sendsOnlyWith`, but each field that can be changed appears in the payment or sets how
    // often it is made.
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
    // Could be untrusted as well, but planned payments are outgoing and the account holder writes their
    // subjects.
    get_scheduled_transactions: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private'],
      sends: 'nowhere',
      sensitive: [],
    },
    // `file_path` could be sensitive and the tool safe. A wrong path only reads, but no description
    // limits it to a folder.
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
    // Could be high, because whoever chooses the password controls the account.
    update_password: {
      accessMode: 'write',
      dangerLevel: 'critical',
      reads: [],
      sends: 'nowhere',
      sensitive: ['password'],
    },
    // The two names could be left out of `sensitive`. Like the address, they say whose account it is.
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
    // `attachments` could be treated as content, but it names what is shared, like the file of a sharing
    // tool.
    send_email: {
      accessMode: 'write',
      dangerLevel: 'high',
      reads: [],
      sends: 'outside',
      sensitive: ['recipients', 'cc', 'bcc', 'attachments'],
      note: 'Attached files leave the account although only their ids are in the arguments.',
    },
    // Could read nothing and be medium. The description mentions neither the result nor a way to undo
    // the call.
    delete_email: {
      accessMode: 'write',
      dangerLevel: 'high',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: ['email_id'],
      note: 'What comes back on success is not described; taken to be the mail.',
    },
    // Could be mixed and medium, because the only change is to the unread marks.
    get_unread_emails: {
      accessMode: 'write',
      dangerLevel: 'low',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: [],
    },
    // Could be trusted as the user's own text, but replies and forwarded mail quote other people, even
    // in the subject.
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
    // A draft of a reply also quotes other people.
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
    // Could be untrusted if contacts are collected from incoming mail. This label assumes that the user
    // maintains the list.
    search_contacts_by_name: {
      accessMode: 'readonly',
      dangerLevel: 'safe',
      reads: ['private'],
      sends: 'nowhere',
      sensitive: [],
    },
    // The search by name has the same label.
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
    // Could be high, because an invitation is mail. Without participants it's harmless, and it can be
    // cancelled.
    create_calendar_event: {
      accessMode: 'write',
      dangerLevel: 'medium',
      reads: [],
      sends: 'outside',
      sensitive: ['participants'],
      sendsOnlyWith: ['participants'],
      note: 'Without participants only the owner of the calendar is on the event.',
    },
    // Could send nowhere, because the caller writes no text. But other people may get a notice,
    // depending on the event.
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
    // The new times could be sensitive. But like the date of a payment, they only decide when.
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
    // Could be high like sharing a file, but only one appointment is disclosed.
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
    // Could send outside if the file is already shared, but the consent was needed for the sharing.
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
    // `filename` could be sensitive if the tool replaced an existing file, but the description says that
    // the file is new.
    create_file: {
      accessMode: 'write',
      dangerLevel: 'low',
      reads: [],
      sends: 'nowhere',
      sensitive: [],
    },
    // Could be medium if deleted files went to a bin, but the description mentions none. The result is
    // the file itself.
    delete_file: {
      accessMode: 'write',
      dangerLevel: 'high',
      reads: ['private', 'untrusted'],
      sends: 'nowhere',
      sensitive: ['file_id'],
      note: 'The argument is described both as an id and as a name.',
    },
    // `file_id` could be sensitive as in the tools that change files, but this tool only reads the
    // selected file.
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
    // Could be medium, because sharing can be withdrawn. But other people may have read the file by
    // then.
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
