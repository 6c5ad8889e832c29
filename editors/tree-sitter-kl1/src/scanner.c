// The end of a clause: a point before layout or at the end of the text. Other points belong to runs of symbols.

#include "tree_sitter/parser.h"

enum { END };

static bool is_layout(int32_t c) { return (c >= 0 && c <= 32) || c == 127; }

void *tree_sitter_kl1_external_scanner_create(void) { return 0; }
void tree_sitter_kl1_external_scanner_destroy(void *payload) { (void)payload; }
unsigned tree_sitter_kl1_external_scanner_serialize(void *payload, char *buffer) {
  (void)payload;
  (void)buffer;
  return 0;
}
void tree_sitter_kl1_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  (void)payload;
  (void)buffer;
  (void)length;
}

bool tree_sitter_kl1_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid_symbols) {
  (void)payload;
  if (!valid_symbols[END]) return false;
  while (is_layout(lexer->lookahead) && !lexer->eof(lexer)) lexer->advance(lexer, true);
  if (lexer->lookahead != '.') return false;
  lexer->advance(lexer, false);
  lexer->mark_end(lexer);
  if (!lexer->eof(lexer) && !is_layout(lexer->lookahead)) return false;
  lexer->result_symbol = END;
  return true;
}
