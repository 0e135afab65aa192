/**
 * Runs calls batch by batch. Calls that wait for a turn to ask the user run last in their batch,
 * one at a time and in order.
 *
 * @param start Runs the call at a position. `turn` resolves when it's that call's turn.
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
