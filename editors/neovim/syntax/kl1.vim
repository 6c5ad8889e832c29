" Colours of KL1 where the tree-sitter parser is not there.
if exists('b:current_syntax')
  finish
endif
syntax match kl1Operator /[#$&*+\-.\/:<=>?@\\^`~|;]\+/
syntax match kl1Variable /\<[A-Z_][A-Za-z0-9_]*/
syntax match kl1Call /\<[a-z][A-Za-z0-9_]*\ze(/
syntax match kl1Head /^[a-z][A-Za-z0-9_]*/
syntax match kl1Module /\<[a-z][A-Za-z0-9_]*\ze:[a-z]/
syntax keyword kl1Keyword otherwise alternatively true mod xor is
syntax match kl1Directive /^:-\s*[a-z_]\+/
syntax match kl1Number /\<[0-9]\+\%(\.[0-9]\+\)\?\%([eE][+-]\?[0-9]\+\)\?/
syntax match kl1Number /\<[0-9]\+'[0-9A-Za-z]\+/
syntax match kl1Character /\<0\+'./
syntax region kl1String start=/"/ skip=/\\.\|""/ end=/"/
syntax region kl1Atom start=/'/ skip=/\\.\|''/ end=/'/
syntax match kl1Comment /%.*$/ contains=@Spell
syntax region kl1Comment start=/\/\*/ end=/\*\// contains=@Spell
highlight default link kl1Operator Operator
highlight default link kl1Variable Identifier
highlight default link kl1Call Function
highlight default link kl1Head Function
highlight default link kl1Module Include
highlight default link kl1Keyword Keyword
highlight default link kl1Directive PreProc
highlight default link kl1Number Number
highlight default link kl1Character Character
highlight default link kl1String String
highlight default link kl1Atom Constant
highlight default link kl1Comment Comment
let b:current_syntax = 'kl1'
