import type { CallEffect } from '../effect.js';
import { fieldOf, reads, undecided, wordsIn, writes, type KnownValue } from './known-value.js';

const READS = new Set(
  wordsIn(
    'content title screenshot snapshot ariasnapshot innertext innerhtml textcontent inputvalue ' +
      'getattribute isvisible isenabled ischecked ishidden isdisabled iseditable locator locators ' +
      'frames frame mainframe pages contexts context count all first last nth boundingbox ' +
      'viewport viewportsize cookies storagestate accessibility getbyrole getbytext getbylabel ' +
      'getbytestid getbyplaceholder queryselector queryselectorall metrics version useragent ' +
      'target targets browser iswsconnected isconnected isclosed consolemessages requests ' +
      'response headers elementhandle on once off waitfor waitforselector waitfortimeout ' +
      'waitforfunction waitforloadstate waitforurl waitforevent waitforresponse waitforrequest ' +
      'waitfornavigation waitfornetworkidle waitforframe and or filter describe getproperties ' +
      'getproperty jsonvalue aselement iselement alltextcontents allinnertexts clickablepoint ' +
      'waitforfilechooser createpdfstream createcdpsession observe extract capturescreenshot ' +
      'getdocument enable',
  ),
);
/**
 * User actions on a page. An action may change anything, and may change more each time it's
 * repeated.
 */
const ACTS = new Set(
  wordsIn(
    'click dblclick tap press presssequentially type inserttext sendcharacter sendkeys drag ' +
      'dragto draganddrop drop accept dismiss uploadfile setinputfiles touchaction performactions ' +
      'dispatchevent dispatchmouseevent dispatchkeyevent dispatchtouchevent act',
  ),
);
/** User actions that set the value of a field. */
const SETS = new Set(
  wordsIn('fill check uncheck setchecked selectoption select setvalue clearvalue'),
);
const WRITES = new Set(
  wordsIn(
    'click dblclick tap fill type press presssequentially check uncheck setchecked selectoption ' +
      'selecttext select hover focus blur clear drag dragto draganddrop drop goto reload goback ' +
      'goforward setcontent setviewportsize setviewport setinputfiles uploadfile close newpage ' +
      'newcontext bringtofront emulate emulatemedia emulatetimezone setgeolocation ' +
      'grantpermissions clearpermissions addcookies setcookie deletecookie clearcookies ' +
      'setextrahttpheaders setuseragent setoffline route unroute continue abort fulfill accept ' +
      'dismiss down up move wheel inserttext sendcharacter highlight hidehighlight showchapter ' +
      'showactions hideactions showoverlay startrecording stoprecording start stop startchunk ' +
      'stopchunk startvideo stopvideo tracing scrollintoview scrollintoviewifneeded dispatchevent ' +
      'addscripttag addstyletag addinitscript evaluateonnewdocument exposefunction launch ' +
      'launchpersistentcontext connect connectovercdp kill sendkeys navigate back forward refresh ' +
      'swipe quit act setvalue addvalue clearvalue installapp activateapp terminateapp ' +
      'touchaction performactions emulatenetworkconditions emulatecputhrottling ' +
      'setrequestinterception setcacheenabled dispatchmouseevent dispatchkeyevent ' +
      'dispatchtouchevent',
  ),
);
const TOLD = /^(?:evaluate(?:handle|all)?|send|execute(?:script|async)?)$/;

/** Returns the effect of a method on a browser or on something in a page. */
export function browserEffects(
  name: string,
  call: string,
  args: readonly KnownValue[],
): readonly CallEffect[] | undefined {
  const key = name.toLowerCase().replace(/^\$+(?:eval)?$/, 'queryselector');
  const [first] = args;
  const saves = /^(?:screenshot|pdf|storagestate|stop)$/.test(key);
  if (saves && typeof first === 'object' && first !== null && Object.hasOwn(first, 'path'))
    return [
      fieldOf(first, 'path') === undefined
        ? undecided('fs-write', call)
        : writes('fs-write', call, true, true),
    ];
  if (/^setdefault\w*timeout$/.test(key)) return [];
  if (key === 'saveas') return [writes('fs-write', call, true, true)];
  if (TOLD.test(key)) return [undecided('browser-action', call)];
  // In WebDriver, these methods open the address passed to them. In other libraries, or without an
  // argument, they only read.
  if (/^(?:url|get|to)$/.test(key) && args.length > 0 && /^(?:selenium|webdriver)/.test(call))
    return [writes('browser-action', call)];
  if (READS.has(key) || /^(?:pdf|url|get|to)$/.test(key)) return [reads('browser-action', call)];
  if (WRITES.has(key)) {
    const replaces = ACTS.has(key) || SETS.has(key) ? true : null;
    return [writes('browser-action', call, replaces, replaces && SETS.has(key))];
  }
  return /^(?:get|find|is|are|wait|take)[A-Z]/.test(name)
    ? [reads('browser-action', call)]
    : undefined;
}
