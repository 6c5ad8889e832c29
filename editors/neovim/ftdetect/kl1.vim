autocmd BufRead,BufNewFile *.kl1 setfiletype kl1
