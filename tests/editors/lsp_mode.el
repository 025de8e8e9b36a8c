;;; lsp_mode.el --- A test's additions to an Emacs with lsp-mode  -*- lexical-binding: t -*-

;; The shipped set-up in an Emacs in a terminal, with its own minibuffer.
;; Never replaces any part of lsp-mode.

(setq make-backup-files nil auto-save-default nil create-lockfiles nil inhibit-startup-screen t)
(dolist (folder (file-expand-wildcards (concat (getenv "LSP_MODE") "/usr/share/emacs/site-lisp/elpa-src/*")))
  (add-to-list 'load-path folder))
(require 'lsp-mode-autoloads "lsp-mode-autoloads.el")
;; No question about the project, no other server, no file outside the folders of the test.
(setq lsp-auto-guess-root t
      lsp-client-packages nil
      ;; Show the menu even for a single action.
      lsp-auto-execute-action nil
      lsp-restart 'auto-restart
      lsp-session-file (expand-file-name "lsp-session" (getenv "TMPDIR"))
      lsp-server-install-dir (getenv "TMPDIR"))
(load (getenv "ADJUTANT_EL") nil t)

(defvar test-progress nil "The progress in the mode line so far, the newest first.")
(defun test-note-progress (_workspace params)
  "Record the progress in PARAMS after lsp-mode has shown it."
  (let* ((value (lsp-get params :value))
         (line (format "%s %s" (or (lsp-get value :title) "") (or (lsp-get value :message) ""))))
    (push line test-progress)))
(advice-add 'lsp-on-progress-modeline :after #'test-note-progress)

(defvar test-file (getenv "TEST_FILE") "The file that the user has open.")
(defun test-buffer () "Return the buffer of that file." (or (find-buffer-visiting test-file) (current-buffer)))
(load (expand-file-name "emacs/socket.el" (file-name-directory load-file-name)) nil t)

(defun test-asked ()
  "Return the prompt of the minibuffer and its possible answers."
  (when-let* ((window (active-minibuffer-window)))
    (with-current-buffer (window-buffer window)
      (string-join (cons (minibuffer-prompt)
                         (all-completions "" minibuffer-completion-table minibuffer-completion-predicate))
                   "\n"))))

(defun test-attached () "Whether the server knows the file." (and (bound-and-true-p lsp-managed-mode) t))

(find-file test-file)
(lsp)
