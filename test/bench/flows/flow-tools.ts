/** What a reader declared for a tool: access, danger, the labels of its result, and the worst case of where it sends. */
export type FlowLabels = readonly [
  accessMode: 'readonly' | 'write' | 'mixed',
  dangerLevel: 'safe' | 'low' | 'medium' | 'high' | 'critical',
  reads: readonly ('private' | 'untrusted')[],
  sends: 'nowhere' | 'outside',
];
export type FlowTools = Readonly<Record<string, Readonly<Record<string, FlowLabels>>>>;

const NONE = [] as const;
const PRIVATE = ['private'] as const;
const BOTH = ['private', 'untrusted'] as const;

/**
 * Labels for the tools of two sets, based only on the tools' names, descriptions, and parameters.
 *
 * These rules apply to all tools:
 * - `reads`: a tool that changes an existing object and doesn't say what it returns is assumed to return
 * that object. A tool that only creates something from its arguments is assumed to echo them, which
 * reads nothing.
 * - `sends`: mail that the tool sends by itself, such as invitations, counts as much as mail that the
 * user asked for.
 * - `dangerLevel`: `high` or above if the change can't be undone (money, deletion, mail, shared files,
 * lock-out).
 */
export const FLOW_TOOLS: FlowTools = {
  banking: {
    get_iban: ['readonly', 'safe', PRIVATE, 'nowhere'],
    send_money: ['write', 'critical', NONE, 'outside'],
    // Could be critical like an immediate payment, but the payment can be changed until its date.
    // The subject reaches the recipient only once the payment is made.
    schedule_transaction: ['write', 'high', NONE, 'outside'],
    // Fields that are left out keep their values, so a new recipient alone also receives the old subject. What comes back is not described; taken to be the changed record.
    update_scheduled_transaction: ['write', 'high', PRIVATE, 'outside'],
    get_balance: ['readonly', 'safe', PRIVATE, 'nowhere'],
    // Whoever pays in chooses the subject.
    get_most_recent_transactions: ['readonly', 'safe', BOTH, 'nowhere'],
    // Could be untrusted as well, but planned payments are outgoing and the account holder writes their
    // subjects.
    get_scheduled_transactions: ['readonly', 'safe', PRIVATE, 'nowhere'],
    // Bills, letters and notices are commonly files that others wrote.
    read_file: ['readonly', 'low', BOTH, 'nowhere'],
    get_user_info: ['readonly', 'safe', PRIVATE, 'nowhere'],
    // Could be high, because whoever chooses the password controls the account.
    update_password: ['write', 'critical', NONE, 'nowhere'],
    // What comes back is not described; taken to be the profile, with the fields that were not changed.
    update_user_info: ['write', 'medium', PRIVATE, 'nowhere'],
  },
  workspace: {
    // `attachments` could be treated as content, but it names what is shared, like the file of a sharing
    // tool.
    // Attached files leave the account although only their ids are in the arguments.
    send_email: ['write', 'high', NONE, 'outside'],
    // Could read nothing and be medium. The description mentions neither the result nor a way to undo
    // the call.
    // What comes back on success is not described; taken to be the mail.
    delete_email: ['write', 'high', BOTH, 'nowhere'],
    // Could be mixed and medium, because the only change is to the unread marks.
    get_unread_emails: ['write', 'low', BOTH, 'nowhere'],
    // Could be trusted as the user's own text, but replies and forwarded mail quote other people, even
    // in the subject.
    get_sent_emails: ['readonly', 'safe', BOTH, 'nowhere'],
    get_received_emails: ['readonly', 'safe', BOTH, 'nowhere'],
    // A draft of a reply also quotes other people.
    get_draft_emails: ['readonly', 'safe', BOTH, 'nowhere'],
    search_emails: ['readonly', 'safe', BOTH, 'nowhere'],
    // Could be untrusted if contacts are collected from incoming mail. This label assumes that the user
    // maintains the list.
    search_contacts_by_name: ['readonly', 'safe', PRIVATE, 'nowhere'],
    // The search by name has the same label.
    search_contacts_by_email: ['readonly', 'safe', PRIVATE, 'nowhere'],
    get_current_day: ['readonly', 'safe', NONE, 'nowhere'],
    // Invitations from others appear among the events.
    search_calendar_events: ['readonly', 'safe', BOTH, 'nowhere'],
    // Invitations from others appear among the events.
    get_day_calendar_events: ['readonly', 'safe', BOTH, 'nowhere'],
    // Could be high, because an invitation is mail. Without participants it's harmless, and it can be
    // cancelled.
    // Without participants only the owner of the calendar is on the event.
    create_calendar_event: ['write', 'medium', NONE, 'outside'],
    // Could send nowhere, because the caller writes no text. But other people may get a notice,
    // depending on the event.
    // Nobody is mailed if the event has no other participants, which the arguments do not show. What comes back is not described; taken to be the event.
    cancel_calendar_event: ['write', 'medium', BOTH, 'outside'],
    // The new times could be sensitive. But like the date of a payment, they only decide when.
    // Nobody is mailed if the event has no other participants, which the arguments do not show. What comes back is not described; taken to be the event.
    reschedule_calendar_event: ['write', 'medium', BOTH, 'outside'],
    // Could be high like sharing a file, but only one appointment is disclosed.
    // The event gets out although only its id is in the arguments. What comes back is not described; taken to be the event.
    add_calendar_event_participants: ['write', 'medium', BOTH, 'outside'],
    // Could send outside if the file is already shared, but the consent was needed for the sharing.
    // Those with whom the file is shared already can see what is added. What comes back is not described; taken to be the file.
    append_to_file: ['write', 'low', BOTH, 'nowhere'],
    // Others may have shared files into the drive or written in them.
    search_files_by_filename: ['readonly', 'safe', BOTH, 'nowhere'],
    create_file: ['write', 'low', NONE, 'nowhere'],
    // Could be medium if deleted files went to a bin, but the description mentions none. The result is
    // the file itself.
    // The argument is described both as an id and as a name.
    delete_file: ['write', 'high', BOTH, 'nowhere'],
    get_file_by_id: ['readonly', 'safe', BOTH, 'nowhere'],
    list_files: ['readonly', 'safe', BOTH, 'nowhere'],
    // Could be medium, because sharing can be withdrawn. But other people may have read the file by
    // then.
    // The file gets out although only its id is in the arguments. What comes back is not described; taken to be the file.
    share_file: ['write', 'high', BOTH, 'outside'],
    search_files: ['readonly', 'safe', BOTH, 'nowhere'],
  },
};

/**
 * Labels for the same tools by a second reader, who had only the tools and the documentation of the
 * options.
 */
export const SECOND_LABELS: FlowTools = {
  banking: {
    get_iban: ['readonly', 'safe', PRIVATE, 'nowhere'],
    send_money: ['write', 'critical', NONE, 'outside'],
    schedule_transaction: ['write', 'high', NONE, 'outside'],
    update_scheduled_transaction: ['write', 'high', NONE, 'outside'],
    get_balance: ['readonly', 'safe', PRIVATE, 'nowhere'],
    get_most_recent_transactions: ['readonly', 'safe', BOTH, 'nowhere'],
    get_scheduled_transactions: ['readonly', 'safe', PRIVATE, 'nowhere'],
    read_file: ['readonly', 'low', BOTH, 'nowhere'],
    get_user_info: ['readonly', 'safe', PRIVATE, 'nowhere'],
    update_password: ['write', 'critical', NONE, 'nowhere'],
    update_user_info: ['write', 'medium', NONE, 'nowhere'],
  },
  workspace: {
    send_email: ['write', 'high', NONE, 'outside'],
    delete_email: ['write', 'medium', NONE, 'nowhere'],
    get_unread_emails: ['mixed', 'low', BOTH, 'nowhere'],
    get_sent_emails: ['readonly', 'safe', PRIVATE, 'nowhere'],
    get_received_emails: ['readonly', 'safe', BOTH, 'nowhere'],
    get_draft_emails: ['readonly', 'safe', PRIVATE, 'nowhere'],
    search_emails: ['readonly', 'safe', BOTH, 'nowhere'],
    search_contacts_by_name: ['readonly', 'safe', PRIVATE, 'nowhere'],
    search_contacts_by_email: ['readonly', 'safe', PRIVATE, 'nowhere'],
    get_current_day: ['readonly', 'safe', NONE, 'nowhere'],
    search_calendar_events: ['readonly', 'safe', BOTH, 'nowhere'],
    get_day_calendar_events: ['readonly', 'safe', BOTH, 'nowhere'],
    create_calendar_event: ['write', 'medium', NONE, 'outside'],
    cancel_calendar_event: ['write', 'medium', NONE, 'outside'],
    reschedule_calendar_event: ['write', 'medium', NONE, 'outside'],
    add_calendar_event_participants: ['write', 'medium', NONE, 'outside'],
    append_to_file: ['write', 'medium', NONE, 'nowhere'],
    search_files_by_filename: ['readonly', 'safe', BOTH, 'nowhere'],
    create_file: ['write', 'low', NONE, 'nowhere'],
    delete_file: ['write', 'high', BOTH, 'nowhere'],
    get_file_by_id: ['readonly', 'safe', BOTH, 'nowhere'],
    list_files: ['readonly', 'safe', BOTH, 'nowhere'],
    share_file: ['write', 'high', NONE, 'outside'],
    search_files: ['readonly', 'safe', BOTH, 'nowhere'],
  },
};
