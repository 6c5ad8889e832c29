;;; kl1-mode.el --- KL1 programs, and Fifth's language server -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "26.1"))
;; Keywords: languages

;;; Commentary:

;; Colours, comments and indentation of KL1, an index of predicates, and `fifth lsp' through Eglot or lsp-mode.

;;; Code:

(defgroup kl1 nil "KL1 programs." :group 'languages)

(defcustom kl1-fifth-command '("fifth" "lsp")
  "How the language server is started."
  :type '(repeat string) :group 'kl1)

(defcustom kl1-indent-offset 4
  "Columns before the goals of a clause."
  :type 'integer :safe #'integerp :group 'kl1)

(defconst kl1-font-lock-keywords
  '(("^:-[ \t]*\\(module\\)[ \t]+\\([a-z][A-Za-z0-9_]*\\)"
     (1 font-lock-preprocessor-face) (2 font-lock-constant-face))
    ("^[:?]-[ \t]*\\([a-z_]+\\)" 1 font-lock-preprocessor-face)
    ("\\_<\\(?:otherwise\\|alternatively\\|true\\|mod\\|xor\\|is\\)\\_>" . font-lock-keyword-face)
    ("^[a-z][A-Za-z0-9_]*" . font-lock-function-name-face)
    ("\\_<\\([a-z][A-Za-z0-9_]*\\):\\([a-z][A-Za-z0-9_]*\\)"
     (1 font-lock-constant-face) (2 font-lock-function-name-face))
    ("\\_<[A-Z_][A-Za-z0-9_]*\\_>" . font-lock-variable-name-face))
  "Colours of KL1.")

(defvar kl1-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?% "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?/ ". 14n" table)
    (modify-syntax-entry ?* ". 23n" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?' "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    (dolist (c '(?# ?$ ?& ?+ ?- ?. ?: ?< ?= ?> ?? ?@ ?^ ?` ?~ ?| ?\;))
      (modify-syntax-entry c "." table))
    table)
  "What characters of KL1 are.")

(defun kl1--syntax-propertize (start end)
  "Quotes in numbers (`0\\='a', `16\\='ff') between START and END begin no atom.
The same holds for the character itself, if it is a quote or a backslash."
  (goto-char start)
  (while (re-search-forward "\\_<\\(?:0+\\('\\)\\(.\\)\\|[0-9]*[1-9][0-9]*\\('\\)\\)" end t)
    (unless (nth 8 (save-excursion (syntax-ppss (match-beginning 0))))
      (dolist (group '(1 2 3))
        (when (and (match-beginning group)
                   (memq (char-after (match-beginning group)) '(?' ?\" ?\\ ?%)))
          (put-text-property (match-beginning group) (match-end group) 'syntax-table '(1)))))))

(defun kl1-indent-line ()
  "Indents a line: the goals of a clause stand deeper than its head."
  (interactive)
  (let ((column (save-excursion
                  (beginning-of-line)
                  (let ((state (syntax-ppss)))
                    (cond ((nth 8 state) (current-indentation))
                          ((> (nth 0 state) 0) (save-excursion (goto-char (nth 1 state)) (1+ (current-column))))
                          ((kl1--begins-clause-p) 0)
                          (t kl1-indent-offset))))))
    (if (<= (current-column) (current-indentation))
        (indent-line-to column)
      (save-excursion (indent-line-to column)))))

(defun kl1--begins-clause-p ()
  "Whether only comments stand between the line and the clause before."
  (save-excursion
    (beginning-of-line)
    (forward-comment (- (point)))
    (or (bobp) (eq (char-before) ?.))))

;;;###autoload
(define-derived-mode kl1-mode prog-mode "KL1"
  "A mode for KL1 programs."
  (setq-local comment-start "% ")
  (setq-local comment-start-skip "%+[ \t]*\\|/\\*+[ \t]*")
  (setq-local comment-end "")
  (setq-local indent-tabs-mode nil)
  (setq-local font-lock-defaults '(kl1-font-lock-keywords))
  (setq-local syntax-propertize-function #'kl1--syntax-propertize)
  (setq-local indent-line-function #'kl1-indent-line)
  (setq-local imenu-generic-expression '((nil "^\\([a-z][A-Za-z0-9_]*\\)[(:. ]" 1))))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.kl1\\'" . kl1-mode))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs (cons 'kl1-mode kl1-fifth-command)))

(declare-function lsp-register-client "ext:lsp-mode")
(declare-function make-lsp-client "ext:lsp-mode")
(declare-function lsp-stdio-connection "ext:lsp-mode")
(defvar lsp-language-id-configuration)
(with-eval-after-load 'lsp-mode
  (add-to-list 'lsp-language-id-configuration '(kl1-mode . "kl1"))
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection (lambda () kl1-fifth-command))
                    :major-modes '(kl1-mode) :server-id 'fifth)))

(provide 'kl1-mode)
;;; kl1-mode.el ends here
