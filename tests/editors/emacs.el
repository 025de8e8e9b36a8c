;;; emacs.el --- A test's additions to Emacs  -*- lexical-binding: t -*-

;; The shipped set-up, a user who answers by title, and a socket through which
;; a test controls Emacs.  Never replaces any part of eglot.

(setq make-backup-files nil auto-save-default nil create-lockfiles nil)
(load (getenv "ADJUTANT_EL") nil t)

(defvar test-asked nil "The prompt and the choices on the screen, or nil.")
(defvar test-answer nil "The beginning of the chosen title.")
(defvar test-answered 0 "How many questions were answered. The next one may be asked before a test looks again.")
(defvar test-hover nil "What the last hover said.")
(defvar test-typed nil "The text that the user types at the top right after the choice.")
(defvar test-progress nil "The progress in the mode line so far, the newest first.")

(defun test-type (text)
  "Insert TEXT as a new first line of the file."
  (with-current-buffer (test-buffer)
    (save-excursion (goto-char (point-min)) (insert text "\n"))))

;; A batch Emacs has no user at the minibuffer.
(advice-add 'completing-read :override
            (lambda (prompt collection &rest _)
              (let ((titles (all-completions "" collection)))
                (setq test-answer nil
                      test-asked (cons (substring-no-properties prompt) titles))
                (while (not test-answer) (accept-process-output nil 0.02))
                (when test-typed (test-type test-typed) (setq test-typed nil))
                (setq test-asked nil test-answered (1+ test-answered))
                (unless (eq test-answer 'none)
                  (seq-find (lambda (title) (string-prefix-p test-answer title)) titles)))))

(defun test-note-progress (&rest _)
  "Record the progress in eglot's mode line."
  (with-current-buffer (test-buffer)
    (when-let* ((server (eglot-current-server)))
      (maphash (lambda (_ reporter)
                 (let ((line (format "%s" (cddr reporter))))
                   (unless (equal line (car test-progress)) (push line test-progress))))
               (eglot--progress-reporters server)))))
(advice-add 'eglot-handle-notification :after #'test-note-progress)

(defvar test-file nil "The file that the user has open.")
(defun test-buffer () "Return the buffer of that file." (or (find-buffer-visiting test-file) (current-buffer)))

(defun test-actions ()
  "Choose among the code actions with keys, not with the mouse."
  (let ((last-nonmenu-event ?\r)) (call-interactively #'eglot-code-actions)))

(defun test-later (work)
  "Call WORK in the buffer of the file, after the test got its reply."
  (run-at-time 0 nil (lambda ()
                       (condition-case why (with-current-buffer (test-buffer) (funcall work))
                         ((error quit) (message "work: %S" why)))))
  "later")

(load (expand-file-name "emacs/socket.el" (file-name-directory load-file-name)) nil t)

(setq test-file (expand-file-name (car command-line-args-left)))
(setq command-line-args-left nil)
(find-file test-file)
(call-interactively #'eglot)
;; A batch Emacs is never idle, so this loop does eglot's idle work.
(while t
  (accept-process-output nil 0.05)
  (with-current-buffer (test-buffer)
    (when (eglot-managed-p) (eglot--signal-textDocument/didChange))))
