import { once } from '../core/options.js';
import { RANKING } from './bm25f.js';
import { stem } from './words.js';

/** The related stems of each stem, with their weight relative to the stem itself. */
export type RelatedWords = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Returns the built-in tables. They're read once, on the first search. */
export const relatedWords = once((): RelatedWords => {
  const related = new Map<string, Map<string, number>>();
  const add = (from: string, to: string, share: number) => {
    if (from === to) return;
    const others = related.get(from);
    if (others === undefined) related.set(from, new Map([[to, share]]));
    else others.set(to, Math.max(share, others.get(to) ?? 0));
  };
  for (const group of [...linesOf(SYNONYMS), ...linesOf(WORD_FAMILIES)]) {
    const stems = group.map(stem);
    for (const one of stems) for (const other of stems) add(one, other, RANKING.synonym);
  }
  for (const [kind, ...words] of linesOf(CONCEPTS))
    for (const word of words) add(stem(word), stem(kind!), RANKING.concept);
  return related;
});

function linesOf(table: string): readonly (readonly string[])[] {
  return table.split(' | ').map((line) => line.split(' '));
}

/**
 * Groups of words that have about the same meaning in descriptions of tools. The groups are based
 * on typical wordings of tools and requests, not on any data set.
 */
const SYNONYMS =
  'get fetch retrieve obtain lookup | delete remove erase discard | create make add generate produce compose | ' +
  'update modify change edit alter adjust revise | search find seek query browse | send deliver transmit dispatch | buy purchase order shop | ' +
  'book reserve reservation booking appointment | cancel abort revoke | undo revert restore rollback | list show display enumerate view | ' +
  'compute calculate calculator determine | convert transform conversion translate | compare comparison versus | copy duplicate clone replicate | ' +
  'rename move | merge combine join concatenate unite | split divide separate | sort arrange rank | check verify validate confirm | ' +
  'start begin launch run execute | stop halt terminate kill end | install setup | compress zip archive pack | extract unzip decompress unpack | ' +
  'encrypt cipher encode | print output | save store persist | download fetch | upload post publish | share distribute | schedule plan agenda calendar | ' +
  'remind reminder alarm alert notification notify | picture image photo photograph pic | video clip footage | movie film cinema | ' +
  'song music track tune | singer artist musician band | tv television show series | book novel ebook | news headline article | ' +
  'job career employment vacancy occupation | company business firm corporation organization enterprise | employee staff worker personnel | ' +
  'car vehicle automobile auto | flight airline airplane plane | hotel lodging accommodation | house home property estate residence apartment | ' +
  'restaurant dining eatery | recipe cooking cook dish meal | food meal nutrition diet | drink beverage | doctor physician | ' +
  'medicine drug medication pharmaceutical | disease illness condition disorder | exercise workout fitness training | weather forecast climate | ' +
  'temperature heat | money currency cash fund | price cost rate quote pricing | cheap affordable inexpensive budget | tax taxation | ' +
  'loan mortgage credit | stock share equity | crypto cryptocurrency | salary wage income pay | bank banking | invest investment portfolio | ' +
  'location place position site | city town | country nation | address location | map direction route navigation | distance mileage | ' +
  'trip travel journey vacation tour | child kid | woman female | man male | animal pet | email mail | message text sms | phone telephone mobile cell | ' +
  'password passcode credential | login signin authenticate | account profile | user member customer client | file document | folder directory | ' +
  'path location | text string | word term vocabulary | word definition meaning | language linguistic | number count quantity amount total | ' +
  'size length | big large huge | fast quick rapid | new latest recent | old ancient | error bug issue problem fault | fix repair resolve | ' +
  'code program script | website site webpage web | url link | internet web online | network connection | process task | computer machine | ' +
  'game gaming play | sport athletic | team club | school university college | student pupil | teacher instructor tutor | course class lesson | ' +
  'learn study | exam test quiz | paper article publication | research study | law legal | lawyer attorney | contract agreement | crime offense | ' +
  'event occasion | party celebration | gift present | ticket pass | review rating feedback | recommend suggest suggestion recommendation advice | ' +
  'summary summarize summarise summarization overview | analyze analyse analysis examine | information info detail | data dataset | ' +
  'chart graph plot diagram | random arbitrary | history past log | owner possessor | permission privilege access | line row | column field | ' +
  'first head top | last tail bottom | display screen | folder subdirectory | symlink link | monitor watch track | joke funny humor | ' +
  'horoscope zodiac astrology | color colour | fashion clothing clothes outfit apparel';

/**
 * Words of one family that stemming doesn't unify. Words of one family are treated like synonyms.
 */
const WORD_FAMILIES =
  'calculate calculation calculator | multiply multiplication multiplier | divide division divisor | subtract subtraction | translate translation translator | convert conversion converter | generate generation generator | ' +
  'create creation creator | analyze analysis analyzer analytics | predict prediction forecast | classify classification classifier | ' +
  'recognize recognition | detect detection detector | extract extraction | validate validation validator | verify verification | ' +
  'register registration | subscribe subscription subscriber | pay payment payable | book booking | transfer transmission | optimize optimization | ' +
  'compress compression | encrypt encryption | describe description | define definition | explain explanation | compare comparison | ' +
  'recommend recommendation | navigate navigation | transcribe transcription transcript | identify identification identifier | evaluate evaluation | ' +
  'estimate estimation | simulate simulation simulator | manage management manager | develop development developer | ' +
  'employ employment employer employee | educate education educational | invest investment investor | diagnose diagnosis diagnostic | ' +
  'reserve reservation | notify notification | authenticate authentication | authorize authorization | configure configuration config | ' +
  'install installation installer | delete deletion | remove removal | insert insertion | select selection | correct correction | ' +
  'pronounce pronunciation | spell spelling | weigh weight | high height | depth deep | long length | choose choice | advise advice | sell sale | ' +
  'buy purchase | fly flight | strong strength | wide width | medical medicine | legal law | geographic geography | history historical | ' +
  'nutrition nutritional nutrient | music musical musician | chemistry chemical | biology biological | physics physical | ' +
  'mathematics mathematical math | statistics statistical | finance financial | economy economic | politics political | environment environmental';

/**
 * Concepts that tools mention, each followed by words that users say. The relation is one-way: a
 * request for bitcoin can refer to a crypto tool, but a request for crypto doesn't refer to
 * bitcoin.
 */
const CONCEPTS =
  'crypto bitcoin ethereum btc eth dogecoin litecoin coin | currency dollar euro yen pound usd eur gbp jpy rupee yuan | ' +
  'stock nasdaq nyse apple tesla ticker | weather rain snow sunny cloudy storm wind humidity umbrella temperature hot cold | ' +
  'music song album playlist spotify band concert lyric melody | movie film actor actress director netflix cinema oscar | ' +
  'restaurant dinner lunch cuisine pizza sushi menu eat | food pizza bread cheese fruit vegetable pasta chicken rice hungry ingredient | ' +
  'recipe cook bake ingredient dish | travel trip vacation tourist itinerary visit destination | flight airport airline depart departure fly | ' +
  'hotel checkin room stay night | time hour minute clock timezone | ' +
  'date day monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december tomorrow today yesterday calendar | ' +
  'health doctor symptom disease pain sick medicine | exercise gym muscle yoga run | pet dog cat puppy kitten | animal dog cat bird fish horse | ' +
  'image photo jpg png jpeg picture | video youtube mp4 movie | audio mp3 sound music voice | file txt pdf csv doc | document pdf doc docx | ' +
  'code python javascript java programming | math algebra equation calculus geometry arithmetic integral derivative | ' +
  'geometry triangle circle rectangle square sphere area perimeter | legal law court lawyer contract judge | job resume interview hiring career | ' +
  'education school university course student | shopping buy store cart discount deal product | product laptop phone shoe gift | ' +
  'car toyota honda bmw ford mileage | house bedroom rent mortgage apartment | sport football basketball soccer tennis baseball nba nfl | ' +
  'game chess poker xbox playstation | social facebook twitter instagram linkedin | location latitude longitude coordinate address city | ' +
  'city london paris york tokyo berlin chicago boston sydney | country usa france germany china india japan canada spain italy | ' +
  'language english french spanish german chinese japanese | translate english french spanish german chinese japanese | network ip dns port ping | ' +
  'compress gzip tar zip bzip2';
