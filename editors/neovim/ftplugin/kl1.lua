-- A buffer with KL1: comments, words, colours and `fifth lsp`.
vim.bo.commentstring = '% %s'
vim.bo.comments = ':%%,:%'
vim.bo.shiftwidth = 4
vim.bo.expandtab = true

-- Colours come from the tree-sitter grammar if its parser is in the runtime path, else from syntax/kl1.vim.
pcall(vim.treesitter.start, 0, 'kl1')

require('kl1').attach()
