/** English words so common that they say nothing about which tool is meant. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about above after again all also am an and any are as at be because been before being below between both but by ' +
    'can could did do does doing don down during each few for from further had has have having he her here hers him his how ' +
    'i if in into is it its just let ll me more most my no nor not now of off on once only or other our out over own re ' +
    's same she should so some such t than that the their them then there these they this those through to too under until up us ' +
    've very was we were what when where which while who whom why will with would you your'
  ).split(' '),
);
