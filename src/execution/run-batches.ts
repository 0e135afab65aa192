/**
 * Runs calls in batches. Calls that need to ask the user run last in their batch, in order and one
 * at a time.
 *
 * @param start Runs the call with this index. `turn` resolves when it's the call's turn to ask the
 * user.
 */
export async function runBatches(
  batches: readonly (readonly number[])[],
  start: (position: number, turn: () => Promise<void>) => Promise<void>,
): Promise<void> {
  for (const batch of batches) {
    const waiting = new Map<number, () => void>();
    const running = new Map<number, Promise<void>>();
    await Promise.all(
      batch.map(
        (position) =>
          new Promise<void>((leave, fail) => {
            const turn = () => new Promise<void>((go) => (waiting.set(position, go), leave()));
            const run = start(position, turn);
            running.set(position, run);
            run.then(leave, fail);
          }),
      ),
    );
    for (const [position, go] of [...waiting].sort(([one], [other]) => one - other)) {
      go();
      await running.get(position);
    }
  }
}
