//! The words with which the assistant settles something itself, and those that only look like it.

/// Verbs with which the assistant settles something, whether or not it gives the reason.
pub(super) const SETTLES: &str = r"(?ix)(^|\W)(i|we)([’']ll|\ will|[’']ve|\ have|[’']m|\ am)?
      \ ((just|only|simply|now|also|therefore|thus|then|deliberately|finally|rather)\ )*
      (keep|kept|keeping|leave|left|leaving|choose|chose|chosen|pick(ed)?|stay(ed)?\ with
      |st(ic|uc)k\ (with|to)|go\ with|went\ with|going\ with
      |switch(ed|ing)?\ (back\ )?to|swap(ped|ping)?|went\ for|decided|settled?\ (on|for)|drop(ped)?
      |prefer(red)?|opt(ed)?\ for|avoid(ed)?|t(ake|ook)\ (back|that|this|it)
      |revert(ed)?|replaced?)(\W|$)
    | (^|\W)(let[’']s|let\ me)\ (keep|leave|stick|stay|go\ with|switch\ to|drop|use)\W
    | (^|\W)ich\ (nehme|lasse|behalte|bleibe|wähle|entscheide|verzichte|verwerfe)\W
    | (^|\W)(je\ (garde|laisse|reste|choisis|prends|renonce)|j[’']ai\ (choisi|gardé|laissé)
      |j[’']opte)\W
    | (^|\W)(elijo|mantengo|dejo|prefiero|opto|me\ quedo\ con)\W";

/// The words with which a sentence begins that settles something without a subject.
pub(super) const BEGINS: &str = r"(?ix)(^|\W)(keep(ing)?|decided\ to|chose|choosing|going\ with
      |sticking\ (with|to)|staying\ with|switch(ing|ed)\ to|dropp(ing|ed)
      |(swapped|replaced)\ .*\ (with|for|by)|use[sd]?\ .*\ (instead\ of|rather\ than)
      |(so\ )?instead|new\ rule|stattdessen)\W";

/// Verbs with which the assistant settles something if it gives the reason as well. Otherwise, they
/// mostly describe its work.
pub(super) const DOES: &str = r"(?ix)(^|\W)(i|we)([’']ll|\ will|[’']ve|\ have)?
      \ ((just|only|simply|now|also|therefore|thus|then)\ )*
      (take|took|used?|put|set|build|built|split|match(ed)?|deriv(e|ed)|appl(y|ied)|treat(ed)?
      |exclud(e|ed)|limit(ed)?|pin(ned)?|store[ds]?|write|wrote
      |add(ed)?|handled?|cut|compared?|count(ed)?|round(ed)?|ignored?|skip(ped)?|lift(ed)?
      |rais(e|ed)|lower(ed)?|marked?|skipped|made|make)\W
    | (^|\W)let\ me\ use\W
    | (^|\W)ich\ (verwende|nutze|benutze|setze|schreibe|baue)\W
    | (^|\W)(j[’']utilise|je\ (mets|passe|remplace))\W | (^|\W)(uso|utilizo|pongo|cambio)\W";

/// The words with which a reason is given.
pub(super) const REASONS: &str = r"(?ix)(^|\W)(because|since|so|so\ that|otherwise|instead|rather
      |without|unless|therefore|hence|due\ to|too
      |better|simpler|faster|safer|cheaper|smaller|avoids?|needs?|must|only|no\ longer|not
      |\w+n[’']t|cannot|weil|da|sonst|damit|denn|statt|parce\ que|car|puisque|sinon|porque|ya\ que
      |para\ que)(\W|$)";

/// The words with which the reason for work is given. Words such as "not" and "only" also report.
pub(super) const REASONS_OF_WORK: &str = r"(?ix)(^|\W)(because|since|so|so\ that|otherwise|instead
      |rather\ than|unless|therefore|hence|due\ to|avoids?
      |weil|da|sonst|damit|denn|statt|parce\ que|car|puisque|sinon|porque|ya\ que
      |para\ que)(\W|$)";

/// What begins in the same way, and settles nothing: looking, working, complaints ("I keep getting
/// errors"), and what is open.
pub(super) const SETTLES_NOTHING: &str = r"(?ix)(^|\W)(i|we)\ (could|can|might|would|may|should)\W
    | (^|\W)(i|we)[’']d\W | (^|\W)(shall|should)\ (i|we)\W
    | (^|\W)(take|took)\ (stock|a\ (closer\ )?look|another\ look|care) | (^|\W)if\ you\W
    | (^|\W)let\ me\ (know|see|check|look)\W
    | ^\W*(now|next|then|first)\ ((let[’']s|let\ me|i[’']ll)\ )?(add|build|change|check|create|fix
      |make|move|remove|replace|revert|run|switch|test|update|use|verify|write)\W
    | (^|\W)left\ (for\ you|over|off)\W | (^|\W)(take|took)\ (long|time)\W
    | (^|\W)(i|we)\ (keep|kept)\ \w+ing\W | (^|\W)(i|we)\ left\ [^,;]*\ at\ \d{1,2}:\d\d
    | (^|\W)(i|we)\ [^,;]*\ by\ mistake(\W|$)
    | (^|\W)keep(ing)?\ (going|on|looking|an\ eye)\W
    | (^|\W)put\ (it|them)?\ ?together\W | (^|\W)use\ (this|it)\ to\ (see|find|check)\W";

/// A condition: "if I keep the lock". Its verb settles nothing; what follows may.
pub(super) const CONDITIONS: &str =
    r"(?i)(^|\W)(if|when|while|wenn|si|quand)\ (i|we|ich|wir|je|nous)\W[^,;:]*";

/// The words with which a choice replaces the one before it, and those with which it withdraws it.
pub(super) const REPLACES: &str = r"(?ix) ^\W*(instead|so\ instead|stattdessen)\W";
pub(super) const WITHDRAWS: &str =
    r"(?ix) (^|\W)(take|took)\ (\S+\ ){0,4}back(\W|$) | (^|\W)(revert(ed)?|undid)\W";
