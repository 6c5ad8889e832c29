; No two patterns fit one place: editors do not agree which one counts.

(documentation) @comment.documentation
(comment) @comment
(shebang) @keyword.directive

(variable) @variable
(integer) @number
(float) @number.float
(character) @character
(string) @string

; Heads.
(rule head: (atom) @function)
((fact head: (atom) @function)
  (#not-any-of? @function "otherwise" "alternatively"))
(rule head: (compound name: (atom) @function))
(fact head: (compound name: (atom) @function))
(rule head: (infix left: (atom) @function))
(rule head: (infix left: (compound name: (atom) @function)))
(rule head: (infix left: (infix left: (atom) @function)))
(rule head: (infix left: (infix left: (compound name: (atom) @function))))

; Calls, and terms that look like calls.
(arguments (compound name: (atom) @function.call))
(conjunction (compound name: (atom) @function.call))
(commit (compound name: (atom) @function.call))
(branch (compound name: (atom) @function.call))
(rule body: (compound name: (atom) @function.call))
(infix right: (compound name: (atom) @function.call))
(list (compound name: (atom) @function.call))
(conjunction (infix left: (compound name: (atom) @function.call)))
(commit (infix left: (compound name: (atom) @function.call)))
(branch (infix left: (compound name: (atom) @function.call)))
(conjunction (infix left: (infix left: (compound name: (atom) @function.call))))
(commit (infix left: (infix left: (compound name: (atom) @function.call))))
(branch (infix left: (infix left: (compound name: (atom) @function.call))))

; Modules.
(directive goal: (prefix operator: "module" @keyword operand: (atom) @module))
(infix left: (atom) @module operator: ":")

; Words between clauses and in conditionals.
((fact head: (atom) @keyword)
  (#any-of? @keyword "otherwise" "alternatively"))
((alternatives (atom) @keyword)
  (#any-of? @keyword "otherwise" "alternatively"))
((commit left: (atom) @constant.builtin)
  (#eq? @constant.builtin "true"))
((branch (atom) @constant.builtin)
  (#eq? @constant.builtin "true"))

(rule operator: _ @operator)
(directive operator: _ @operator)
(infix operator: _ @operator)
(postfix operator: _ @operator)
((prefix operator: _ @operator)
  (#not-eq? @operator "module"))
(commit operator: _ @operator)
(branch operator: _ @operator)
(alternatives operator: _ @operator)

(conjunction operator: _ @punctuation.delimiter)
(arguments "," @punctuation.delimiter)
["[" "]" "{" "}" "(" ")"] @punctuation.bracket
