// Starts `fifth lsp` when a KL1 text is opened.
const { workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = () => {
  const command = workspace.getConfiguration('kl1').get('fifth', 'fifth');
  const documents = [{ scheme: 'file', language: 'kl1' }, { scheme: 'untitled', language: 'kl1' }];
  const watched = { fileEvents: workspace.createFileSystemWatcher('**/*.kl1') };
  client = new LanguageClient('fifth', 'Fifth', { command, args: ['lsp'] }, { documentSelector: documents, synchronize: watched });
  return client.start();
};

exports.deactivate = () => client && client.stop();
