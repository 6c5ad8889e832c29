// Prints the scopes of a text as vscode-textmate finds them: each token, a tab, its innermost scope. The exit code is 77
// where the packages vscode-textmate and vscode-oniguruma are not there (NODE_PATH).
const fs = require('fs'), path = require('path');
let textmate, oniguruma, wasm;
try {
  textmate = require('vscode-textmate');
  oniguruma = require('vscode-oniguruma');
  wasm = fs.readFileSync(path.join(path.dirname(require.resolve('vscode-oniguruma')), 'onig.wasm'));
} catch {
  process.exit(77);
}
const grammar = path.join(__dirname, 'syntaxes', 'kl1.tmLanguage.json');
const onigLib = oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength)).then(() => ({
  createOnigScanner: patterns => new oniguruma.OnigScanner(patterns),
  createOnigString: text => new oniguruma.OnigString(text),
}));
const loadGrammar = async () => textmate.parseRawGrammar(fs.readFileSync(grammar, 'utf8'), grammar);
new textmate.Registry({ onigLib, loadGrammar }).loadGrammar('source.kl1').then(kl1 => {
  let state = textmate.INITIAL;
  for (const line of fs.readFileSync(0, 'utf8').split('\n')) {
    const { tokens, ruleStack } = kl1.tokenizeLine(line, state);
    state = ruleStack;
    for (const { startIndex, endIndex, scopes } of tokens) {
      console.log(`${line.slice(startIndex, endIndex)}\t${scopes[scopes.length - 1]}`);
    }
  }
});
