import { stem } from './stem.js';

const stems = (words: string): ReadonlySet<string> => new Set(words.split(' ').map(stem));

/** Stems with which people talk to a helper, and which tools rarely mean: they count about half. */
export const CHATTY: ReadonlySet<string> = stems(
  'please need help want wish like love show give tell find get know look looking let make sure use using able also could would ' +
    'provide information thanks thank hi hello hey try trying something anything someone interested question wondering curious ' +
    'recently currently really maybe possible assist',
);

/** Stems that stand in so many names that covering them says little. */
export const GENERIC: ReadonlySet<string> = stems('get set list api tool by id for from to new data info information create update delete add search find all');
