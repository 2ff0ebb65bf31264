// A SMILES as a text that is the same for every spelling of the molecule: with single and double or with aromatic
// bonds, from whichever atom it is written. What it is made of is atoms, their hydrogens and who is bound to whom;
// stereochemistry and charges are left out. Null for a text that is no SMILES.

const TOKEN = /\[(\d*)([A-Z][a-z]?|se|as|te|si|[bcnops]|\*)(?:@@?(?:[A-Z]{2}\d+)?)?(?:H(\d*))?[+-]*\d*(?::\d+)?\]|(Cl|Br|[BCNOPSFI]|[bcnops]|\*)|(%\d\d|\d)|([-=#$:/\\~])|([().])/y;
const VALENCES = { B: [3], C: [4], N: [3, 5], O: [2], P: [3, 5], S: [2, 4, 6], F: [1], Cl: [1], Br: [1], I: [1] };
const ORDERS = { "=": 2, "#": 3, $: 4 };

export function signature(smiles) {
  const atoms = read(smiles.trim());
  if (!atoms || !atoms.length) return null;
  for (const atom of atoms) if (atom.hydrogens === null) atom.hydrogens = implicit(atom);
  const heavy = withoutHydrogens(atoms);
  let labels = heavy.map((atom) => mix([...`${atom.element},${atom.isotope},${atom.hydrogens}`].map((sign) => sign.charCodeAt(0))));
  labels = heavy.map((atom, at) => mix([labels[at], ...distances(heavy, at)]));
  for (let round = 0; round < heavy.length && round < 12; round++) {
    labels = heavy.map((atom, at) => mix([labels[at], ...atom.bonds.map(({ other }) => labels[other.at]).sort((a, b) => a - b)]));
  }
  return `${heavy.length}:${labels.sort((a, b) => a - b).join()}`;
}

// atoms with element, isotope, hydrogens (null: as many as the valence asks for), bonds; null where it cannot be read
function read(text) {
  const atoms = [];
  const branches = [];
  const rings = new Map();
  let last = null;
  let order = null;
  const bind = (one, two, how) => {
    one.bonds.push({ other: two, order: how });
    two.bonds.push({ other: one, order: how });
  };
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length; ) {
    const found = TOKEN.exec(text);
    if (!found) return null;
    const [, isotope, inside, count, plain, ring, bond, sign] = found;
    if (inside || plain) {
      const name = inside || plain;
      const aromatic = name === name.toLowerCase() && name !== "*";
      const element = name[0].toUpperCase() + name.slice(1);
      const hydrogens = inside ? (count === undefined ? 0 : Number(count || 1)) : null;
      const atom = { element, aromatic, isotope: isotope || "", hydrogens, bonds: [] };
      if (last) bind(last, atom, order);
      atoms.push(atom);
      [last, order] = [atom, null];
    } else if (ring) {
      if (!last) return null;
      const number = ring.replace("%", "");
      const open = rings.get(number);
      if (open) bind(open.atom, last, order ?? open.order);
      else rings.set(number, { atom: last, order });
      if (open) rings.delete(number);
      order = null;
    } else if (bond) order = ORDERS[bond] || 1;
    else if (sign === "(") branches.push(last);
    else if (sign === ")") last = branches.pop() ?? null;
    else last = null;
  }
  return rings.size || branches.length ? null : atoms;
}

function implicit({ element, aromatic, bonds }) {
  const sum = bonds.reduce((all, { order }) => all + (order || 1), aromatic ? 1 : 0);
  const valences = VALENCES[element] || [0];
  const valence = aromatic ? valences[0] : valences.find((most) => most >= sum) || sum;
  return Math.max(0, valence - sum);
}

// hydrogens that were written as atoms are counted where they are bound
function withoutHydrogens(atoms) {
  const light = ({ element, isotope, bonds }) => element === "H" && !isotope && bonds.length === 1 && bonds[0].other.element !== "H";
  for (const atom of atoms.filter(light)) {
    const { other } = atom.bonds[0];
    other.hydrogens++;
    other.bonds = other.bonds.filter((bond) => bond.other !== atom);
  }
  const heavy = atoms.filter((atom) => !light(atom));
  heavy.forEach((atom, at) => (atom.at = at));
  return heavy;
}

// how many atoms are one, two, ... bonds away: tells apart what neighbours of neighbours cannot
function distances(atoms, from) {
  const seen = new Set([from]);
  const counts = [];
  for (let edge = [from]; edge.length; counts.push(edge.length)) {
    edge = edge.flatMap((at) => atoms[at].bonds.map(({ other }) => other.at)).filter((at) => !seen.has(at) && seen.add(at));
  }
  return counts;
}

// 53 bits of a list of whole numbers
function mix(numbers) {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (const number of numbers) {
    for (const part of [number >>> 0, Math.floor(number / 2 ** 32)]) {
      a = Math.imul(a ^ part, 2654435761) ^ (b >>> 15);
      b = Math.imul(b ^ part, 1597334677) ^ (a >>> 13);
    }
  }
  return 2 ** 32 * (b & 0x1fffff) + (a >>> 0);
}
