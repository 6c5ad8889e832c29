// KL1 as crates/syntax reads it, for editors: it accepts a little more (it does not compare the priorities of operands),
// and nothing less. Names and priorities of operators come from operators.js.

const operators = require('./operators.js');

/// Highest priority of an argument or list item; what is above stands in clauses and parentheses only.
const ARGUMENT_MAX = 999;
/// Operators of clauses, which have rules of their own: terms with them stand in parentheses.
const CLAUSE = 1200;
const INFIX = ['xfx', 'xfy', 'yfx'], PREFIX = ['fx', 'fy'], POSTFIX = ['xf', 'yf'];
/// Infix operators whose terms have names of their own.
const NAMED = { ',': 'conjunction', '|': 'commit', '->': 'branch', ';': 'alternatives' };

const groups = { xfy: prec.right, fx: prec.left, fy: prec.right, xfx: prec.left, yfx: prec.left, xf: prec.left, yf: prec.left };
const binds = priority => 1300 - priority;
const names_of = kinds => operators.filter(([kind]) => kinds.includes(kind)).flatMap(([, , names]) => names);

/// A rule for each line of the table (for each name, if its terms have one of their own), and what makes its node from it:
/// of arguments, of what clauses hold, of what only parentheses hold.
const rules = {}, argument = [], term = [], whole = [];
const add = (index, node, kind, priority, names) => {
  const name = `_${node}_${index}`;
  const operand = $ => priority <= ARGUMENT_MAX ? $._argument : $._term;
  const operator = field('operator', names.length > 1 ? choice(...names) : names[0]);
  const before = $ => PREFIX.includes(kind) ? [] : [field(INFIX.includes(kind) ? 'left' : 'operand', operand($))];
  const after = $ => POSTFIX.includes(kind) ? [] : [field(INFIX.includes(kind) ? 'right' : 'operand', operand($))];
  rules[name] = $ => groups[kind](binds(priority), seq(...before($), operator, ...after($)));
  const list = priority <= ARGUMENT_MAX ? argument : priority < CLAUSE ? term : whole;
  list.push($ => alias($[name], $[node]));
};
for (const [index, [kind, priority, names]] of operators.entries()) {
  const node = INFIX.includes(kind) ? 'infix' : PREFIX.includes(kind) ? 'prefix' : 'postfix';
  const named = names.filter(name => node === 'infix' && NAMED[name]);
  const plain = names.filter(name => !named.includes(name));
  named.forEach(name => add(index, NAMED[name], kind, priority, [name]));
  if (plain.length) add(index, node, kind, priority, plain);
}
const is_word = name => /^[a-z]/.test(name);
const symbols = names_of(PREFIX).filter(name => !is_word(name));
const words = names_of(PREFIX).filter(is_word);

module.exports = grammar({
  name: 'kl1',

  extras: $ => [/[\x00-\x20\x7f]/, $.comment, $.documentation],
  externals: $ => [$._end],
  word: $ => $._name,

  rules: {
    source_file: $ => seq(optional($.shebang), repeat($._clause)),
    shebang: _ => token(prec(2, /#![^\n]*/)),

    _clause: $ => choice($.directive, $.rule, $.fact),
    directive: $ => seq(field('operator', choice(':-', '?-')), field('goal', $._term), $._end),
    rule: $ => seq(field('head', $._term), field('operator', choice(':-', '-->')), field('body', $._term), $._end),
    fact: $ => seq(field('head', $._term), $._end),

    /// What clauses and parentheses hold.
    _term: $ => choice($._argument, ...term.map(make => make($))),
    /// What arguments and lists hold.
    _argument: $ => choice($._primary, ...argument.map(make => make($))),
    ...rules,

    _primary: $ => choice(
      $.variable, $.integer, $.character, $.float, $.string, $.atom, $.compound, $.list, $.vector, $.parenthesized),

    compound: $ => seq(field('name', $.atom), token.immediate(prec(1, '(')), field('arguments', $.arguments), ')'),
    arguments: $ => seq($._argument, repeat(seq(',', $._argument))),
    list: $ => choice(seq('[', ']'), seq('[', $._items, optional(seq('|', field('tail', $._argument))), ']')),
    vector: $ => choice(seq('{', '}'), seq('{', $._items, '}')),
    _items: $ => seq($._argument, repeat(seq(',', $._argument))),
    parenthesized: $ => seq('(', choice($._term, ...whole.map(make => make($))), ')'),

    // A prefix operator may stand for itself. A symbol before what may be its operand does not; a word before an infix
    // operator does (`module#m`).
    atom: $ => choice(
      $._name, $._symbols, $._quoted, '!', ';',
      prec(-1, choice(...symbols)), prec(2000, choice(...words)),
      seq('(', choice(',', '|'), ')')),
    _name: _ => /[a-z\u0080-\u{10ffff}][A-Za-z0-9_\u0080-\u{10ffff}]*/u,
    _symbols: _ => /[#$&*+\-.\/:<=>?@\\^`~]+/,
    _quoted: _ => token(seq("'", repeat(choice(/[^'\\]/, /\\(.|\n)/, "''")), "'")),

    variable: _ => /[A-Z_][A-Za-z0-9_\u0080-\u{10ffff}]*/u,
    integer: _ => token(choice(/[0-9]+/, /[0-9]*[1-9][0-9]*'[0-9A-Za-z]*/)),
    character: _ => /0+'(.|\n)/,
    float: _ => token(choice(/[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?/, /[0-9]+[eE][+-]?[0-9]+/)),
    string: $ => prec.right(repeat1($._string)),
    _string: _ => token(seq('"', repeat(choice(/[^"\\]/, /\\(.|\n)/, '""')), '"')),

    documentation: _ => token(prec(2, /%%[^\n]*/)),
    comment: _ => token(prec(1, choice(/%[^\n]*/, seq('/*', /[^*]*\*+([^/*][^*]*\*+)*/, '/')))),
  },
});
