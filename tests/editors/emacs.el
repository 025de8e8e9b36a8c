;;; emacs.el --- What a test adds to Emacs  -*- lexical-binding: t -*-

;; The user's set-up as shipped, a user who answers by title, and a socket by
;; which a test tells what to do.  Never replaces any part of eglot.

(setq make-backup-files nil auto-save-default nil create-lockfiles nil)
(load (getenv "ADJUTANT_EL") nil t)

(defvar test-asked nil "The prompt and the choices that are shown, or nil.")
(defvar test-answer nil "The beginning of the title that is chosen.")
(defvar test-typed nil "What is typed at the top as the choice is made.")
(defvar test-progress nil "What the mode line and the echo area showed, the newest first.")

(defun test-type (text)
  "Put TEXT as a line above the first of the file."
  (with-current-buffer (test-buffer)
    (save-excursion (goto-char (point-min)) (insert text "\n"))))

;; Nobody sits at the minibuffer of a batch Emacs.
(advice-add 'completing-read :override
            (lambda (prompt collection &rest _)
              (let ((titles (all-completions "" collection)))
                (setq test-answer nil
                      test-asked (cons (substring-no-properties prompt) titles))
                (while (not test-answer) (accept-process-output nil 0.02))
                (when test-typed (test-type test-typed) (setq test-typed nil))
                (setq test-asked nil)
                (unless (eq test-answer 'none)
                  (seq-find (lambda (title) (string-prefix-p test-answer title)) titles)))))

(defun test-note-progress (&rest _)
  "Note what eglot's mode line shows of the work in progress."
  (with-current-buffer (test-buffer)
    (when-let* ((server (eglot-current-server)))
      (maphash (lambda (_ reporter)
                 (let ((line (format "%s" (cddr reporter))))
                   (unless (equal line (car test-progress)) (push line test-progress))))
               (eglot--progress-reporters server)))))
(advice-add 'eglot-handle-notification :after #'test-note-progress)

(defvar test-file nil "The file that is worked on.")
(defun test-buffer () "Return the buffer of that file." (or (find-buffer-visiting test-file) (current-buffer)))

(defun test-actions ()
  "Choose among the code actions, by keys and not by a menu of the mouse."
  (let ((last-nonmenu-event ?\r)) (call-interactively #'eglot-code-actions)))

(defun test-later (work)
  "Do WORK after the test was answered, in the buffer of the file."
  (run-at-time 0 nil (lambda ()
                       (condition-case why (with-current-buffer (test-buffer) (funcall work))
                         ((error quit) (message "work: %S" why)))))
  "later")

(load (expand-file-name "emacs/socket.el" (file-name-directory load-file-name)) nil t)

(setq test-file (expand-file-name (car command-line-args-left)))
(setq command-line-args-left nil)
(find-file test-file)
(call-interactively #'eglot)
;; A batch Emacs is never idle, so what eglot does when it is idle is done here.
(while t
  (accept-process-output nil 0.05)
  (with-current-buffer (test-buffer)
    (when (eglot-managed-p) (eglot--signal-textDocument/didChange))))
